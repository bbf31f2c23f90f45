package intake

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"
)

// TestClientsOf: the client is the peer, or, behind trusted proxies, the right-most address that is
// none of them.
func TestClientsOf(t *testing.T) {
	c := NewClients([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}, 0)
	for name, test := range map[string]struct {
		peer      string
		header    http.Header
		client    string
		forwarded bool
	}{
		"no proxy":                    {"192.0.2.1:5", nil, "192.0.2.1", false},
		"a header of a stranger":      {"192.0.2.1:5", http.Header{"X-Forwarded-For": {"198.51.100.9"}}, "192.0.2.1", false},
		"a proxy without a header":    {"10.0.0.1:5", nil, "10.0.0.1", true},
		"a proxy's header":            {"10.0.0.1:5", http.Header{"X-Forwarded-For": {"198.51.100.9"}}, "198.51.100.9", true},
		"what the client put there":   {"10.0.0.1:5", http.Header{"X-Forwarded-For": {"1.1.1.1, 198.51.100.9"}}, "198.51.100.9", true},
		"two proxies":                 {"10.0.0.1:5", http.Header{"X-Forwarded-For": {"1.1.1.1, 198.51.100.9", "10.0.0.2"}}, "198.51.100.9", true},
		"proxies only":                {"10.0.0.1:5", http.Header{"X-Forwarded-For": {"10.0.0.3, 10.0.0.2"}}, "10.0.0.3", true},
		"no address":                  {"10.0.0.1:5", http.Header{"X-Forwarded-For": {"198.51.100.9, unknown, 10.0.0.2"}}, "10.0.0.2", true},
		"with a port":                 {"10.0.0.1:5", http.Header{"X-Forwarded-For": {"198.51.100.9:4711"}}, "198.51.100.9", true},
		"IPv6 counts by its network":  {"[2001:db8:1:2:3:4:5:6]:5", nil, "2001:db8:1:2::", false},
		"IPv4 in IPv6":                {"[::ffff:192.0.2.1]:5", nil, "192.0.2.1", false},
		"a proxy's IPv6 header":       {"[fd00::1]:5", http.Header{"X-Forwarded-For": {"2001:db8:1:2:3:4:5:6"}}, "2001:db8:1:2::", true},
		"Forwarded":                   {"10.0.0.1:5", http.Header{"Forwarded": {`for=1.1.1.1, proto=https;For="[2001:db8:1:2::7]:80";by=10.0.0.1`}}, "2001:db8:1:2::", true},
		"Forwarded, a hidden name":    {"10.0.0.1:5", http.Header{"Forwarded": {"for=_secret"}}, "10.0.0.1", true},
		"both, which say the same":    {"10.0.0.1:5", http.Header{"Forwarded": {"for=198.51.100.9"}, "X-Forwarded-For": {"198.51.100.9"}}, "198.51.100.9", true},
		"both, one is the client's":   {"10.0.0.1:5", http.Header{"Forwarded": {"for=198.51.100.9"}, "X-Forwarded-For": {"1.1.1.1"}}, "10.0.0.1", true},
		"a peer that is no address":   {"@", nil, "invalid IP", false},
		"an empty header":             {"10.0.0.1:5", http.Header{"X-Forwarded-For": {""}}, "10.0.0.1", true},
		"an entry with a zone and /s": {"10.0.0.1:5", http.Header{"X-Forwarded-For": {"fe80::1%eth0/../.."}}, "fe80::", true},
	} {
		who, forwarded := c.Of(&http.Request{RemoteAddr: test.peer, Header: test.header})
		if who.String() != test.client || forwarded != test.forwarded {
			t.Errorf("%s: %s %v", name, who, forwarded)
		}
	}
}

// TestClientsTake checks that each address gets up to its limit, and is forgotten when it holds
// nothing.
func TestClientsTake(t *testing.T) {
	c := NewClients(nil, 2)
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	taken := []bool{c.Take(one, 1), c.Take(one, 1), c.Take(one, 1), c.Take(other, 1)}
	if !slices.Equal(taken, []bool{true, true, false, true}) {
		t.Error("the limit does not hold")
	}
	c.Give(one, 1)
	if !c.Take(one, 1) {
		t.Error("what was given back cannot be taken")
	}
	c.Give(one, 1)
	c.Give(one, 1)
	c.Give(other, 1)
	if len(c.by) != 0 {
		t.Errorf("%v are remembered", c.by)
	}
}
