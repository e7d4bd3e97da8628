"""Where ambiguity lives in a model's hidden states, and which of the findings outlive their controls."""
