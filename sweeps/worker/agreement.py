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


class Scorer:
    """The scoring model, compiled for whole sequences, with the target's tokenizer for the prompt."""

    def __init__(self, genai: Any, job: Job) -> None:
        import openvino as ov

        self._run = job.run
        self._tokenizer = genai.Tokenizer(job.target_dir)
        model = Path(job.draft_dir or job.target_dir) / "openvino_model.xml"
        core = ov.Core()
        compiled = core.compile_model(str(model), job.draft_device or job.target_device, job.draft_properties)
        self._request = compiled.create_infer_request()
        self._inputs = {name for port in compiled.inputs for name in port.names}

    def score(self, todo: Todo) -> Agreement:
        """The agreement string of one prompt's text."""
        start = perf_counter()
        prompt = np.asarray(encode_with(self._tokenizer, todo.text).input_ids.data, dtype=np.int64)
        text = np.asarray(todo.token_ids, dtype=np.int64)
        # The last token of the text predicts nothing that is judged.
        ids = np.concatenate([prompt[0], text[:-1]])[None, :]
        feeds = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "position_ids": np.arange(ids.shape[1], dtype=np.int64)[None, :],
            "beam_idx": np.zeros(1, dtype=np.int32),
        }
        self._request.reset_state()
        result = self._request.infer({name: value for name, value in feeds.items() if name in self._inputs})
        logits = np.asarray(result[0])[0, prompt.shape[1] - 1 :]
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
            best=best.tolist(),
            second=second.tolist(),
            margins=[round(float(gap), 4) for gap in high - low],
            took_s=perf_counter() - start,
        )
