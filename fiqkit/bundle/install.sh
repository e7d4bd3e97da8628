#!/bin/sh
# Install fiqkit from this folder, without a network:  sh install.sh [PREFIX]     (PREFIX: ./fiqkit-env by default)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=${1:-$PWD/fiqkit-env}
python=${PYTHON:-python@PYTHON@}

echo "checking every hash"
(cd "$here" && sha256sum --check --quiet --strict SHA256SUMS) || { echo "install.sh: this bundle is damaged; nothing was installed" >&2; exit 1; }
"$python" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "@PYTHON@")' 2>/dev/null ||
    { echo "install.sh: Python @PYTHON@ is needed: PYTHON=/path/to/python@PYTHON@ sh install.sh" >&2; exit 1; }

echo "installing into $prefix"
"$python" -m venv "$prefix"
"$prefix/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --find-links "$here/wheels" -c "$here/constraints.txt" "fiqkit[@EXTRAS@]"
if [ -f "$here/cards.toml" ]; then
    mkdir -p "$prefix/share/fiqkit"
    cp -R "$here/weights" "$here/cards.toml" "$prefix/share/fiqkit/"
    echo "models from here: export FIQKIT_CARDS=$prefix/share/fiqkit/cards.toml"
fi
"$prefix/bin/fiqkit" doctor || [ $? -lt 2 ]
echo "done: $prefix/bin/fiqkit run"
