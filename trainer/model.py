"""Decoder-only transformer: pre-norm RMSNorm, rotary positions, grouped-query attention, SwiGLU.

The same arithmetic as transformers' Llama, so weights export without conversion (see `trainer.export`).
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trainer.config import Model as ModelConfig

INIT_STD = 0.02


class Transformer(nn.Module):
    """Token ids of shape (batch, sequence) to logits of shape (batch, sequence, vocabulary)."""

    rope: Tensor

    def __init__(self, config: ModelConfig, *, vocab_size: int) -> None:
        super().__init__()
        self.config = config
        self.vocab_size = vocab_size
        self.tok_embeddings = nn.Embedding(vocab_size, config.dim)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = nn.RMSNorm(config.dim, eps=config.norm_eps)
        self.output = nn.Linear(config.dim, vocab_size, bias=False)
        if config.tie_embeddings:
            self.output.weight = self.tok_embeddings.weight
        self.register_buffer("rope", rotary_table(config), persistent=False)
        self.init_weights()

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.tok_embeddings(tokens)
        rope = self.rope[:, : tokens.shape[1]]
        for layer in self.layers:
            hidden = layer(hidden, rope)
        return self.output(self.norm(hidden))

    def init_weights(self) -> None:
        """Normal weights; projections that write to the residual stream shrink with depth (GPT-2)."""
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:
                nn.init.ones_(parameter)
                continue
            writes_residual = name.endswith(("wo.weight", "w2.weight"))
            shrink = math.sqrt(2 * self.config.num_layers) if writes_residual else 1.0
            nn.init.normal_(parameter, std=INIT_STD / shrink)

    def num_parameters(self) -> int:
        """Trainable scalars; tied embeddings count once."""
        return sum(parameter.numel() for parameter in self.parameters())


class Block(nn.Module):
    """One layer: attention, then feed-forward, each normalised before and added to the residual stream."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.dim, eps=config.norm_eps)
        self.attention = Attention(config)
        self.ffn_norm = nn.RMSNorm(config.dim, eps=config.norm_eps)
        self.feed_forward = FeedForward(config)

    def forward(self, hidden: Tensor, rope: Tensor) -> Tensor:
        hidden = hidden + self.attention(self.attention_norm(hidden), rope)
        return hidden + self.feed_forward(self.ffn_norm(hidden))


class Attention(nn.Module):
    """Causal self-attention; several query heads share one key and value head."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.head_dim = config.dim // config.num_heads
        kv_dim = config.num_kv_heads * self.head_dim
        self.wq = nn.Linear(config.dim, config.dim, bias=False)
        self.wk = nn.Linear(config.dim, kv_dim, bias=False)
        self.wv = nn.Linear(config.dim, kv_dim, bias=False)
        self.wo = nn.Linear(config.dim, config.dim, bias=False)

    def forward(self, hidden: Tensor, rope: Tensor) -> Tensor:
        query = rotate(self._heads(self.wq(hidden)), rope)
        key = rotate(self._heads(self.wk(hidden)), rope)
        value = self._heads(self.wv(hidden))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        return self.wo(mixed.transpose(1, 2).flatten(2))

    def _heads(self, projected: Tensor) -> Tensor:
        """(batch, sequence, heads x head_dim) to (batch, heads, sequence, head_dim)."""
        return projected.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)


class FeedForward(nn.Module):
    """SwiGLU (Shazeer 2020)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.w1 = nn.Linear(config.dim, config.hidden_dim, bias=False)
        self.w2 = nn.Linear(config.hidden_dim, config.dim, bias=False)
        self.w3 = nn.Linear(config.dim, config.hidden_dim, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.w2(F.silu(self.w1(hidden)) * self.w3(hidden))


def rotary_table(config: ModelConfig) -> Tensor:
    """Cosines and sines of every position, shape (2, max_sequence_tokens, head_dim) (RoFormer, Su 2021)."""
    head_dim = config.dim // config.num_heads
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    frequencies = 1.0 / config.rope_theta**exponents
    angles = torch.outer(torch.arange(config.max_sequence_tokens, dtype=torch.float32), frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    return torch.stack((angles.cos(), angles.sin()))


def rotate(heads: Tensor, rope: Tensor) -> Tensor:
    """Rotate halves (x1, x2) of each head by its position, the convention of Llama in transformers."""
    cos, sin = rope.to(heads.dtype)
    first, second = heads.chunk(2, dim=-1)
    return heads * cos + torch.cat((-second, first), dim=-1) * sin


def next_token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy in nats per token; targets have shape (batch, sequence)."""
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
