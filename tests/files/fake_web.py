"""Local HTTPS servers and a scripted resolver, as a stand-in for the web."""

import datetime
import ipaddress
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from core.http_client.download import DownloadRules

HOST = "pictures.example"
OUTSIDE, INSIDE = "127.0.0.1", "127.0.0.2"

Answer = Callable[[BaseHTTPRequestHandler], None]


class Web:
    """Only OUTSIDE counts as a public address; INSIDE stands for an internal one, never to be
    fetched."""

    def __init__(self, folder: Path) -> None:
        self.certificate = make_certificate(folder, HOST, "elsewhere.example", "inside.example")
        self.answers: dict[str, Answer] = {}
        # The addresses that each host resolves to, one list per query; the last list is repeated.
        self.names: dict[str, list[list[str]]] = {HOST: [[OUTSIDE]]}
        self.asked: list[str] = []
        self.inside: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.resolved: list[str] = []
        self.port = 0

    def link(self, path: str, host: str = HOST) -> str:
        return f"https://{host}:{self.port}{path}"

    def give(self, path: str, body: bytes, kind: str = "image/jpeg", **headers: str) -> str:
        """Serves the body at the path and returns its link."""
        self.answers[path] = lambda to: send(to, 200, body, {"Content-Type": kind} | headers)
        return self.link(path)

    def redirect(self, path: str, location: str, status: int = 302) -> str:
        self.answers[path] = lambda to: send(to, status, b"", {"Location": location})
        return self.link(path)

    def resolve(self, host: str) -> list[str]:
        self.resolved.append(host)
        answers = self.names.get(host)
        if not answers:
            raise OSError("the host does not exist")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def rules(self, **changes: object) -> DownloadRules:
        fields = {"port": self.port, "resolve": self.resolve, "trust": self._trust, "seconds": 20.0}
        return DownloadRules(**fields | {"exempt": frozenset({OUTSIDE})} | changes)  # type: ignore[arg-type]

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    @contextmanager
    def serving(self) -> Iterator["Web"]:
        outside = self._listen(OUTSIDE, 0, self.asked)
        self.port = outside.server_port
        inside = self._listen(INSIDE, self.port, self.inside)
        try:
            yield self
        finally:
            for server in (outside, inside):
                server.shutdown()
                server.server_close()

    def _listen(self, address: str, port: int, requested: list[str]) -> ThreadingHTTPServer:
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                requested.append(self.path)
                web.headers.append(dict(self.headers))
                self.close_connection = True
                web.answers.get(self.path, lambda to: send(to, 404, b"Nothing", {}))(self)

            def log_message(self, *_: object) -> None:
                pass

        server = QuietServer((address, port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
        return server


class QuietServer(ThreadingHTTPServer):
    """Ignores errors, since these tests close connections early."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass


def send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]
) -> None:
    handler.send_response(status)
    for name, value in ({"Content-Length": str(len(body))} | headers).items():
        if value:
            handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def drip(piece: bytes, every: float = 0.05, head: bytes = b"") -> Answer:
    """Makes a response that sends a piece at intervals for longer than any timeout."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(head)
        for _ in range(500):
            handler.wfile.write(piece)
            time.sleep(every)

    return answer


def make_certificate(folder: Path, *names: str) -> Path:
    """Writes a key and a certificate for these names to one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    others = [x509.DNSName(each) for each in names]
    addresses = [x509.IPAddress(ipaddress.ip_address(each)) for each in (OUTSIDE, INSIDE)]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([*others, *addresses]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
