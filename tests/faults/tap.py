"""What stands between clients and a member: it listens, and hands each connection on to its own thread."""

import socket
import threading


class Listener:
    """`address` is where clients come to. A subclass has serve(client), which runs in a thread for each."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        raise NotImplementedError

    def close(self):
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def shut(connection):
    """Both directions, whoever is reading: they hear the end."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
