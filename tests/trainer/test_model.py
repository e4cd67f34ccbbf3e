import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from trainer import config as configs
from trainer.checkpoint import store
from trainer.data.manifest import TOKENIZER_FILE
from trainer.errors import TrainerError
from trainer.export import export
from trainer.model import Transformer, next_token_loss

VOCABULARY = 97


def make_model(*, tie: bool = False) -> Transformer:
    config = configs.Model(
        dim=48,
        num_layers=3,
        num_heads=6,
        num_kv_heads=2,
        hidden_dim=80,
        max_sequence_tokens=40,
        rope_theta=5000.0,
        tie_embeddings=tie,
    )
    torch.manual_seed(3)
    model = Transformer(config, vocab_size=VOCABULARY)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model


def tokens(count: int = 33) -> Tensor:
    return torch.randint(0, VOCABULARY, (2, count), generator=torch.Generator().manual_seed(1))


def commit(model: Transformer, directory: Path) -> Path:
    """Write a checkpoint that holds the weights alone."""
    from safetensors.torch import save_file

    from trainer import files

    staging = directory / ".staging-test"
    staging.mkdir(parents=True)
    weights = {f"model.{name}": parameter.detach() for name, parameter in model.named_parameters()}
    path = staging / "rank-00000.safetensors"
    save_file(weights, path)
    part = store.Part(file=path.name, sha256=files.sha256_of(path), num_bytes=path.stat().st_size)
    manifest = store.CheckpointManifest(
        step=7,
        tokens_seen=0,
        sequences_seen=0,
        elapsed_seconds=0.0,
        layout={},
        config_digest="",
        data_version="",
        identity={"model": {**model.config.model_dump(), "vocab_size": VOCABULARY}},
        files=(part,),
    )
    return store.commit(staging, directory, manifest)


@pytest.mark.parametrize("tie", [False, True])
def test_exported_weights_give_the_logits_of_transformers(tie: bool, dataset: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, LlamaForCausalLM

    model = make_model(tie=tie)
    commit(model, tmp_path / "checkpoints")
    export(tmp_path / "checkpoints", tmp_path / "llama", tokenizer=dataset / TOKENIZER_FILE)
    llama = LlamaForCausalLM.from_pretrained(tmp_path / "llama").double()
    llama.model.rotary_emb.inv_freq = llama.model.rotary_emb.inv_freq.float()
    double = Transformer(model.config, vocab_size=VOCABULARY).double()
    double.load_state_dict({name: value.double() for name, value in model.state_dict().items()})
    double.rope = model.rope
    with torch.no_grad():  # transformers normalises in float32 even then: hence not 1e-12
        np.testing.assert_allclose(double(tokens()), llama(tokens()).logits, rtol=0, atol=1e-6)
    assert llama.num_parameters() == model.num_parameters()
    assert AutoTokenizer.from_pretrained(tmp_path / "llama").eos_token_id == 0


def test_export_needs_a_whole_checkpoint(tmp_path: Path) -> None:
    path = commit(make_model(), tmp_path)
    (path / store.MARKER_FILE).unlink()
    for source in (tmp_path, path):
        with pytest.raises(TrainerError, match="not committed"):
            export(source, tmp_path / "llama")
    assert not (tmp_path / "llama").exists()


def test_no_position_sees_what_follows() -> None:
    model = make_model()
    before = tokens()
    after = before.clone()
    after[:, 20:] = (after[:, 20:] + 1) % VOCABULARY
    with torch.no_grad():
        first, second = model(before), model(after)
    torch.testing.assert_close(first[:, :20], second[:, :20])
    assert not torch.allclose(first[:, 20:], second[:, 20:])


def test_positions_matter_and_are_relative() -> None:
    from trainer.model import rotary_table, rotate

    config = configs.Model(dim=64, num_heads=2, num_kv_heads=1, max_sequence_tokens=64)
    rope = rotary_table(config)
    query, key = torch.randn(2, 1, 1, 1, 32)
    turned_query, turned_key = (rotate(x.expand(1, 1, 64, 32), rope)[0, 0] for x in (query, key))
    scores = turned_query @ turned_key.T
    torch.testing.assert_close(scores[10, 4], scores[50, 44])
    assert not torch.isclose(scores[10, 4], scores[10, 9])


def test_an_untrained_model_predicts_uniformly() -> None:
    model = Transformer(configs.Model(dim=64, num_heads=4, num_kv_heads=2), vocab_size=VOCABULARY)
    windows = tokens()
    loss = next_token_loss(model(windows[:, :-1]), windows[:, 1:])
    assert abs(loss.item() - np.log(VOCABULARY)) < 0.1


def test_tied_embeddings_count_once() -> None:
    assert make_model().num_parameters() - make_model(tie=True).num_parameters() == VOCABULARY * 48


def test_the_config_names_the_architecture(tmp_path: Path) -> None:
    commit(make_model(), tmp_path / "checkpoints")
    export(tmp_path / "checkpoints", tmp_path / "llama")
    written = json.loads((tmp_path / "llama" / "config.json").read_text())
    assert written["architectures"] == ["LlamaForCausalLM"]
    assert (written["head_dim"], written["num_key_value_heads"]) == (8, 2)
