"""Tiny checkpoints of every supported architecture and a small set of instances."""

from __future__ import annotations

import json
from pathlib import Path

from fiqkit.records import Instance, Interpretation

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SIZE = {"vocab_size": 320, "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4}
SIZE |= {"num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 1024, "tie_word_embeddings": True}
DENSE = {**SIZE, "intermediate_size": 48}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
LINEAR = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8}
SHARED = {**EXPERTS, "shared_expert_intermediate_size": 16}
ARCHITECTURES = {
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", DENSE),
    "qwen3_moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", {**DENSE, **EXPERTS}),
    "qwen3_5": ("Qwen3_5TextConfig", "Qwen3_5ForCausalLM", {**DENSE, **LINEAR}),
    "qwen3_next": ("Qwen3NextConfig", "Qwen3NextForCausalLM", {**DENSE, **SHARED, **LINEAR}),
    "llama": ("LlamaConfig", "LlamaForCausalLM", DENSE),
}


def make_checkpoint(folder: Path, architecture: str, template: str | None = TEMPLATE, **config: object) -> Path:
    """A randomly initialised checkpoint with a byte-level tokenizer."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    config_class, model_class, size = ARCHITECTURES[architecture]
    torch.manual_seed(0)
    made = getattr(transformers, model_class)(getattr(transformers, config_class)(**{**size, **config}))
    for parameter in made.parameters():  # the usual initialisation is too small for layers to differ
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2)
    made.save_pretrained(folder)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    byte_level = Tokenizer(models.BPE(vocab={char: i for i, char in enumerate(alphabet)}, merges=[]))
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    byte_level.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_level, eos_token="<|im_end|>", pad_token="<|endoftext|>", bos_token="<|im_start|>"
    )
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return folder


def make_adapter(base: Path, folder: Path, std: float = 0.3) -> Path:
    """A LoRA on a checkpoint, with random numbers of that spread; 0 leaves the model as it is."""
    import torch
    import transformers
    from peft import LoraConfig, get_peft_model

    loaded = transformers.AutoModelForCausalLM.from_pretrained(base)
    model = get_peft_model(loaded, LoraConfig(r=2, target_modules="all-linear"))
    torch.manual_seed(1)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=std)
    model.save_pretrained(folder)
    edit_json(folder / "adapter_config.json", base_model_name_or_path=str(base))
    return folder


_READINGS = {
    ("entity_scope", "en"): (
        "What was {c}'s net income?",
        "Attributable to shareholders of the parent, not {n} others.",
    ),
    ("metric_definition", "en"): (
        "What were {c}'s adjusted earnings?",
        "Exclude {n} non-recurring items; use non-GAAP.",
    ),
    ("entity_scope", "zh"): ("{c}的净利润是多少？", "口径：归属于母公司股东，{n}年度。"),
    ("metric_definition", "zh"): ("{c}的业绩是多少？", "扣除非经常性损益后的口径，共{n}项。"),
    ("temporal_scope", "en"): ("How much did {c} sell?", "For the quarter, week {n}, not the full year."),
    ("temporal_scope", "zh"): ("{c}卖了多少？", "仅限第{n}季度。"),
}


def make_instances(companies: int = 12) -> list[Instance]:
    """Two or three instances a company; categories and languages alternate so that neither tells the other."""
    found = []
    for number in range(companies):
        language = "zh" if number % 2 else "en"
        kinds = ["entity_scope", "metric_definition", *(["temporal_scope"] if number % 3 == 0 else [])]
        for kind in kinds:
            question, context = _READINGS[kind, language]
            company = f"第{number}公司" if language == "zh" else f"Company{number} Inc."
            found.append(
                Instance(
                    instance_id=f"i{len(found)}",
                    question=question.format(c=company),
                    context=context.format(n=number + 2),
                    answer="1",
                    default_answer="2",
                    intended_interpretation=Interpretation(entity="parent"),
                    default_interpretation=Interpretation(entity="group"),
                    categories=(kind,),
                    h0=1.0,
                    language=language,
                    company=company,
                )
            )
    return found


def edit_json(path: Path, **changes: object) -> None:
    """Change some keys of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def make_gguf(folder: Path, out: Path) -> Path:
    """A llama or qwen3 checkpoint of `make_checkpoint` as a GGUF file in float32."""
    import gguf
    import numpy as np
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text())
    kind, heads, kv_heads = config["model_type"], config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(out, kind)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base((config.get("rope_parameters") or config)["rope_theta"])
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    specials = json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
    words += [entry["content"] for entry in specials]
    words += [f"<unused{n}>" for n in range(config["vocab_size"] - len(words))]
    control = {entry["content"] for entry in specials}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(words)
    writer.add_token_types([3 if word in control else 1 for word in words])
    writer.add_token_merges([f"{words[0]} {words[1]}"])  # of two control characters: none would be refused
    writer.add_eos_token_id(words.index("<|im_end|>"))
    writer.add_bos_token_id(words.index("<|im_start|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    names = gguf.get_tensor_name_map(
        gguf.MODEL_ARCH.LLAMA if kind == "llama" else gguf.MODEL_ARCH.QWEN3, config["num_hidden_layers"]
    )
    for name, tensor in load_file(folder / "model.safetensors").items():
        rows = {"q_proj": heads, "k_proj": kv_heads}.get(name.split(".")[-2])
        if kind == "llama" and rows:  # halves of each head's dimensions become neighbours
            tensor = np.stack([head[[0, 4, 1, 5, 2, 6, 3, 7]] for head in tensor.reshape(rows, 8, -1)])
            tensor = tensor.reshape(-1, config["hidden_size"])
        writer.add_tensor(names.get_name(name, (".weight",)), np.ascontiguousarray(tensor, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return out
