"""A long conversation that is folded twice, and still answered from what was folded.

Offline: a local server plays the endpoint, whose model knows what it is sent and nothing else.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from loopguard_core import agent

PEOPLE = {"Oslo": 709_000, "Bergen": 289_000, "Trondheim": 212_000, "Stavanger": 149_000}


class Model(BaseHTTPRequestHandler):
    """Calls a tool for each question, answers from its result, and sums facts up when folding."""

    def do_POST(self) -> None:  # noqa: D102 - the server's name
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = [message["content"] for message in request["messages"]]
        facts = dict(re.findall(r"(\w+) has (\d+) people", " ".join(texts)))
        delta: dict[str, object] = {"content": texts[-1].split(". ")[0]}
        if "tools" not in request:
            delta = {"content": ". ".join(f"{city} has {n} people" for city, n in facts.items())}
        elif request["messages"][-1]["role"] == "user":
            city = texts[-1].split()[-1].strip("?")
            given = {"city": city} if city in PEOPLE else {"numbers": list(facts.values())}
            call = {"name": "look_up" if city in PEOPLE else "add", "arguments": json.dumps(given)}
            delta = {"tool_calls": [{"index": 0, "id": f"call_{len(texts)}", "function": call}]}
        event = json.dumps({"choices": [{"delta": delta, "finish_reason": "stop"}]})
        self.send_response_only(200)
        self.end_headers()
        self.wfile.write(f"data: {event}\n\ndata: [DONE]\n\n".encode())


def dispatch(call: agent.ToolCall) -> str:
    """Run a tool; what `look_up` returns is long."""
    given = json.loads(call.arguments)
    if call.name == "add":
        return f"Together they have {sum(map(int, given['numbers']))} people"
    return f"{given['city']} has {PEOPLE[given['city']]} people. " + "It lies by the sea. " * 60


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
store, url = agent.MemoryStore(), f"http://127.0.0.1:{server.server_port}"
runner = agent.OpenAIRunner("scripted", base_url=url, api_key="none")
policy = agent.ShaperPolicy.for_context(1_500, preserve_last_messages=1)
session = agent.Session(
    session_id="cities",
    store=store,
    runner=runner,
    dispatch=dispatch,
    build=agent.Shaper(store, summarizer=runner, policy=policy).build,
    tools=[agent.ToolDefinition(name="look_up"), agent.ToolDefinition(name="add")],
    on_compaction=lambda fold: print("  folded into:", fold.summary),
)
for question in [*(f"How many people live in {city}?" for city in PEOPLE), "And in all of them?"]:
    print(f"> {question}\n{session.turn_sync(question).reply}")
