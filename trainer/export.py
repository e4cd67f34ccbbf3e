"""From a checkpoint to a directory that transformers loads as a Llama model."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from trainer import files
from trainer.checkpoint import store
from trainer.data.tokenizer import END_OF_TEXT, END_OF_TEXT_ID
from trainer.errors import TrainerError

Weights = dict[str, NDArray[np.float32]]

_OUTSIDE_LAYERS = {
    "tok_embeddings.weight": "model.embed_tokens.weight",
    "norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_IN_LAYER = {
    "attention.wq": "self_attn.q_proj",
    "attention.wk": "self_attn.k_proj",
    "attention.wv": "self_attn.v_proj",
    "attention.wo": "self_attn.o_proj",
    "feed_forward.w1": "mlp.gate_proj",
    "feed_forward.w2": "mlp.down_proj",
    "feed_forward.w3": "mlp.up_proj",
    "attention_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
_LAYER = re.compile(r"layers\.(\d+)\.(.+)\.weight")


def export(checkpoint: Path, output: Path, *, tokenizer: Path | None = None) -> Path:
    """Write config.json, model.safetensors and the tokenizer to `output`; returns the checkpoint used.

    `checkpoint` is one checkpoint, or a run's checkpoint directory, of which the newest whole one is taken.
    Raises TrainerError when there is no whole checkpoint.
    """
    found = _find(checkpoint)
    weights = {llama_name(name): value for name, value in _read_weights(found).items()}
    with files.staging_directory(output) as staging:
        save_file(weights, staging / "model.safetensors", metadata={"format": "pt"})
        files.write_json(staging / "config.json", llama_config(found.manifest.identity["model"]))
        if tokenizer:
            _write_tokenizer(tokenizer, staging)
        files.publish_directory(staging, output)
    return found.path


def llama_name(name: str) -> str:
    """Name of a weight in transformers' Llama."""
    if name in _OUTSIDE_LAYERS:
        return _OUTSIDE_LAYERS[name]
    match = _LAYER.fullmatch(name)
    if not match:
        raise TrainerError(f"weight {name} has no place in a Llama model")
    return f"model.layers.{match[1]}.{_IN_LAYER[match[2]]}.weight"


def llama_config(model: dict[str, Any]) -> dict[str, Any]:
    """The config.json of a model with these dimensions (fields of trainer.config.Model and vocab_size)."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": model["vocab_size"],
        "hidden_size": model["dim"],
        "intermediate_size": model["hidden_dim"],
        "num_hidden_layers": model["num_layers"],
        "num_attention_heads": model["num_heads"],
        "num_key_value_heads": model["num_kv_heads"],
        "head_dim": model["dim"] // model["num_heads"],
        "max_position_embeddings": model["max_sequence_tokens"],
        "rms_norm_eps": model["norm_eps"],
        "rope_parameters": {"rope_type": "default", "rope_theta": model["rope_theta"]},
        "rope_theta": model["rope_theta"],
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": model["tie_embeddings"],
        "bos_token_id": END_OF_TEXT_ID,
        "eos_token_id": END_OF_TEXT_ID,
        "dtype": "float32",
    }


def _find(path: Path) -> store.Checkpoint:
    if path.name.startswith("step-"):
        problem = store.find_damage(path)
        if problem:
            raise TrainerError(f"{path}: {problem}")
        return store.read(path)
    newest, problems = store.newest_whole(path)
    if newest is None:
        raise TrainerError(f"{path}: holds no whole checkpoint" + "".join(f"\n  {line}" for line in problems))
    return newest


def _read_weights(checkpoint: store.Checkpoint) -> Weights:
    weights: Weights = {}
    for part in checkpoint.manifest.files:
        if part.file.endswith(".safetensors"):
            weights |= load_file(checkpoint.path / part.file)
    return {
        name.removeprefix("model."): value for name, value in weights.items() if name.startswith("model.")
    }


def _write_tokenizer(tokenizer: Path, directory: Path) -> None:
    try:
        (directory / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    except OSError as error:
        raise TrainerError(f"{tokenizer}: cannot be read: {error.strerror}") from error
    special = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END_OF_TEXT,
        "eos_token": END_OF_TEXT,
    }
    files.write_json(directory / "tokenizer_config.json", special)
