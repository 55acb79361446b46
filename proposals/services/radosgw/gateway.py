"""One RADOS Gateway, as its front, its users and Keystone see it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Gateway:
    """One daemon."""

    minion: str
    host: str
    configuration: str
    port: int
    tls: Mapping[str, str]  # the certificate's files, none without TLS

    @property
    def name(self) -> str:
        """The end of its entity and of its systemd unit."""
        return f"{self.configuration}.{self.host}"
