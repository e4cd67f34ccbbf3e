"""How far a run has come."""

from dataclasses import dataclass

from trainer.config import Training


@dataclass
class Progress:
    """Counts since the very first start, restarts included."""

    step: int = 0
    sequences_seen: int = 0
    tokens_seen: int = 0
    elapsed_seconds: float = 0.0

    def advance(self, training: Training) -> None:
        """Count one optimizer step."""
        self.step += 1
        self.sequences_seen += training.global_batch_sequences
        self.tokens_seen += training.global_batch_sequences * training.sequence_tokens
