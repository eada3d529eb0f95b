"""A reply that never ends, cut while it streams; then the model is told and tries again.

Offline: a generator plays the model. With the OpenAI client, `watch_client(OpenAI())` does the
same for every stream, and its streams say `finding` and `keep_chars` themselves.
"""

from collections.abc import Iterator
from itertools import chain, repeat

from loopguard_core import Action, LoopGuard, guard_stream

QUESTION = "What is in the file?"
OPENING = "The file defines a parser for dates."
STUCK = "I will check the file once more to be sure."


def model(messages: list[str]) -> Iterator[str]:
    """Play a model that goes round in circles until it is told."""
    told = len(messages) > 1
    try:
        for sentence in chain([OPENING], ["It is complete."] if told else repeat(STUCK)):
            for word in sentence.split():
                yield f"{word} "
    finally:
        print("\n  (the model has stopped)")


def main() -> None:
    """Ask until a reply ends by itself, or one was cut once too often."""
    run = LoopGuard().start_run()
    messages = [QUESTION]
    while True:
        watch = run.watch_reply()
        text = ""
        for piece in guard_stream(model(messages), watch):
            print(piece, end="", flush=True)
            text += piece
        if watch.finding is None:
            run.reply_done()
            return
        print(f"  cut: {watch.finding.message}")
        print(f"  kept: {text[: watch.keep_chars]}\n")
        verdict = run.reply_cut()
        if verdict.action is Action.HALT:
            return
        messages += [text[: watch.keep_chars], verdict.guidance]


if __name__ == "__main__":
    main()
