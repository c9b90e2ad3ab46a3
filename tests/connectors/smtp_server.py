"""A real SMTP server for tests: receives mail on loopback, stores it, fails where a test says so."""

from __future__ import annotations

import base64
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass
class LocalSmtp:
    """`answers` maps a verb, or END for the end of the mail, to another answer; CUT closes the connection."""

    port: int = 0
    answers: dict[str, str] = field(default_factory=dict)
    password: str | None = None
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    conversations: int = 0


class Conversation(socketserver.StreamRequestHandler):
    state: LocalSmtp

    def handle(self) -> None:
        self.state.conversations += 1
        to: list[str] = []
        self.say("220 local ready")
        while line := self.rfile.readline().decode().strip():
            verb = line.split()[0].upper()
            special = self.state.answers.get(verb)
            if special == "CUT":
                return
            if verb == "QUIT":
                self.say("221 bye")
                return
            if special is not None:
                self.say(special)
            elif verb == "EHLO":
                self.say("250-local\r\n250 AUTH PLAIN")
            elif verb == "AUTH":
                self.authenticate(line)
            elif verb == "RCPT":
                to.append(line.partition("<")[2].partition(">")[0])
                self.say("250 ok")
            elif verb == "DATA":
                self.say("354 go on")
                if not self.take(to):
                    return
            else:
                self.say("250 ok")

    def authenticate(self, line: str) -> None:
        given = base64.b64decode(line.split()[-1]).decode().split("\0")[-1]
        self.say("235 welcome" if given == self.state.password else f"535 no: {given}")

    def take(self, to: list[str]) -> bool:
        content = b""
        while (line := self.rfile.readline()) != b".\r\n":
            if not line:
                return False
            content += line[1:] if line.startswith(b"..") else line
        end = self.state.answers.get("END", "250 queued as 42")
        if end[0] == "2" or end == "CUT":
            # The connection is cut after the message was accepted: the sender cannot know this.
            self.state.mails.append(message_from_bytes(content, policy=policy.default))
            self.state.recipients.append(to)
        if end == "CUT":
            return False
        self.say(end)
        return True

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextmanager
def smtp_server() -> Iterator[LocalSmtp]:
    state = LocalSmtp()
    handler = type("BoundConversation", (Conversation,), {"state": state})
    with _Server(("127.0.0.1", 0), handler) as server:
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
