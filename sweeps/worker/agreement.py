"""Agreement without speculating: one teacher-forced pass of a model over a text that another one wrote.

Under greedy decoding a proposal is judged given a true prefix only, so whether the draft's first choice
after the target's own text up to i is the target's token i decides everything that a round can accept.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sweeps.events.types import Agreement
from sweeps.worker.job import Job, Todo
from sweeps.worker.pipeline import encode_with


class Reader:
    """A stateful model outside of any engine: takes in tokens, gives logits."""

    def __init__(self, compiled: Any) -> None:
        self.request = compiled.create_infer_request()
        self._inputs = {name for port in compiled.inputs for name in port.names}

    def feed(self, ids: Any, past: int) -> Any:
        """Logits (positions, vocabulary) of `ids` behind `past` tokens of cache."""
        count = ids.shape[0]
        feeds = {
            "input_ids": ids[None, :],
            "attention_mask": np.ones((1, past + count), dtype=np.int64),
            "position_ids": np.arange(past, past + count, dtype=np.int64)[None, :],
            "beam_idx": np.zeros(1, dtype=np.int32),
        }
        result = self.request.infer({name: value for name, value in feeds.items() if name in self._inputs})
        return np.asarray(result[0])[0]


class Scorer:
    """The scoring model, compiled for whole sequences, with the target's tokenizer for the prompt."""

    def __init__(self, genai: Any, job: Job) -> None:
        import openvino as ov

        self._run = job.run
        self._tokenizer = genai.Tokenizer(job.target_dir, NUM_STREAMS=2)
        model = Path(job.draft_dir or job.target_dir) / "openvino_model.xml"
        core = ov.Core()
        device = job.draft_device or job.target_device
        # In full precision: over a long sequence the default one rounds otherwise than token by token, and
        # agrees less with what rounds then do.
        exact = {**job.draft_properties, "INFERENCE_PRECISION_HINT": "f32"}
        self._model = Reader(core.compile_model(str(model), device, exact))

    def score(self, todo: Todo) -> Agreement:
        """The agreement string of one prompt's text."""
        start = perf_counter()
        prompt = np.asarray(encode_with(self._tokenizer, todo.text).input_ids.data, dtype=np.int64)
        text = np.asarray(todo.token_ids, dtype=np.int64)
        # The last token of the text predicts nothing that is judged.
        ids = np.concatenate([prompt[0], text[:-1]])
        self._model.request.reset_state()
        logits = self._model.feed(ids, 0)[prompt.shape[1] - 1 :]
        if logits.shape[0] != text.shape[0]:
            raise RuntimeError(
                f"the model gives logits for {logits.shape[0]} of {text.shape[0]} positions: "
                "it cannot be scored in one pass"
            )
        top = np.argpartition(logits, -2, axis=-1)[:, -2:]
        values = np.take_along_axis(logits, top, axis=-1)
        order = np.argsort(values, axis=-1)
        second, best = np.take_along_axis(top, order, axis=-1).T
        low, high = np.take_along_axis(values, order, axis=-1).T
        return Agreement(
            run=self._run,
            prompt=todo.prompt,
            bits="".join("1" if same else "0" for same in best == text),
            token_ids=todo.token_ids,
            prompt_ids=prompt[0].tolist(),
            best=best.tolist(),
            second=second.tolist(),
            margins=[round(float(gap), 4) for gap in high - low],
            took_s=perf_counter() - start,
        )
