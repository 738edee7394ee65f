"""Which proxy the environment names."""

import pytest

from console.clients.proxies import proxy_for

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("url", "env", "proxy"),
    [
        ("https://api.example:6443", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://api.example:6443", {"https_proxy": PROXY}, PROXY),
        ("https://api.example:6443", {"HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}, ""),
        ("http://engine.example:2375", {"HTTP_PROXY": "proxy.example:3128"}, PROXY),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://127.8.0.1:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://api.example:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, ""),
        ("https://api.example:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "other, API.Example"}, ""),
        ("https://a.b.example:6443", {"HTTPS_PROXY": PROXY, "no_proxy": "example"}, ""),
        ("https://notexample:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "example"}, PROXY),
        ("https://b.example:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": ".example"}, ""),
        ("https://b.example:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*.example"}, ""),
        ("https://example:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": ".example"}, PROXY),
        ("https://10.2.3.4:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}, ""),
        ("https://11.2.3.4:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8,junk/99"}, PROXY),
        ("https://10.2.3.4:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.2.3.4"}, ""),
        ("https://10.2.3.4:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "2.3.4"}, PROXY),
        ("https://[fd00::1]:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "fd00::1"}, ""),
        ("https://api.example:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "api.example:6443"}, ""),
        ("https://api.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": "api.example:6443"}, PROXY),
    ],
)
def test_the_environment_names_a_proxy_as_other_tools_read_it(url: str, env: dict[str, str], proxy: str) -> None:
    assert proxy_for(url, env) == proxy
