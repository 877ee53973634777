"""Broken proxy and certificate variables end in one sentence that names the variable."""

from __future__ import annotations

import os

import pytest

from config.errors import ConfigurationError
from config.network import check_environment


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("NO_PROXY", "localhost,fd00::/8,10.0.0.0/8", "NO_PROXY has fd00::/8 in it"),
        ("no_proxy", "[::1]", r"no_proxy has \[::1\] in it"),
        ("ALL_PROXY", "socks5://127.0.0.1:9050", "ALL_PROXY names a SOCKS proxy"),
        ("https_proxy", "gopher://x", "https_proxy is no address of a proxy"),
        ("HTTP_PROXY", "http://[::1", "HTTP_PROXY is no address of a proxy"),
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "SSL_CERT_FILE names /nowhere/ca.pem, but it does not exist"),
        ("SSL_CERT_FILE", __file__, "SSL_CERT_FILE names .*, but it can't be read"),
        ("SSL_CERT_DIR", "/nowhere", "SSL_CERT_DIR names /nowhere"),
    ],
)
def test_broken_variable_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str) -> None:
    monkeypatch.setenv("HTTP_PROXY" if name.upper() == "NO_PROXY" else "UNRELATED", "http://127.0.0.1:3128")
    monkeypatch.setenv(name, value)
    before = dict(os.environ)
    with pytest.raises(ConfigurationError, match=said):
        check_environment()
    assert dict(os.environ) == before


@pytest.mark.parametrize("value", ["localhost,127.0.0.1,::1", "*", ".example.org,10.0.0.0/8", ""])
def test_usable_variables_pass(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("NO_PROXY", value)
    monkeypatch.setenv("HTTPS_PROXY", "127.0.0.1:3128")
    check_environment()
