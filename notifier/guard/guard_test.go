package guard

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// TestCheckURL: where webhooks may go (D18). Literals only: no name is looked up.
func TestCheckURL(t *testing.T) {
	t.Parallel()
	public := []string{
		"https://93.184.216.34/hook", "http://93.184.216.34:8080/hook?a=b#c", "https://[2606:2800:220:1::1]/",
		"https://[64:ff9b::5db8:d822]/", "https://[2002:5db8:d822::1]/", "https://hooks.invalid/x", "HTTPS://hooks.invalid",
		"https://[::ffff:93.184.216.34]/",
	}
	for _, u := range public {
		if err := (Guard{}).CheckURL(context.Background(), u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	refused := map[string][]string{
		"loopback":      {"http://127.0.0.1", "http://127.8.9.10", "http://[::1]", "http://[::ffff:127.0.0.1]", "http://[::ffff:7f00:1]", "http://localhost", "http://localhost.:80", "http://x.LocalHost"},
		"private":       {"http://10.0.0.1", "http://172.16.0.1", "http://172.31.255.255", "http://192.168.1.1", "http://100.64.0.1", "http://[fec0::1]", "http://[::ffff:10.0.0.1]"},
		"link-local":    {"http://169.254.1.1", "http://[fe80::1]", "http://[fe80::1%25eth0]"},
		"unique-local":  {"http://[fd12:3456::1]", "http://[fc00::1]"},
		"metadata":      {"http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]", "http://100.100.100.200", "http://168.63.129.16", "http://192.0.0.192", "http://[::ffff:169.254.169.254]"},
		"unspecified":   {"http://0.0.0.0", "http://0.1.2.3", "http://[::]", "http://[::ffff:0.0.0.0]"},
		"multicast":     {"http://224.0.0.1", "http://239.255.255.255", "http://[ff02::1]"},
		"reserved":      {"http://255.255.255.255", "http://240.0.0.1", "http://192.0.2.1", "http://198.18.0.1", "http://198.51.100.1", "http://203.0.113.1", "http://192.88.99.1", "http://192.0.0.1", "http://[2001:db8::1]", "http://[100::1]", "http://[::127.0.0.1]", "http://[4000::1]", "http://[64:ff9b:1::7f00:1]", "http://[3fff::1]", "http://[2001::1]" /* Teredo */, "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]"},
		"(64:ff9b::7f":  {"http://[64:ff9b::7f00:1]", "http://[64:ff9b::127.0.0.1]"},
		"(64:ff9b::a":   {"http://[64:ff9b::a9fe:a9fe]", "http://[64:ff9b::10.0.0.1]"},
		"(2002:":        {"http://[2002:7f00:1::]", "http://[2002:a9fe:a9fe::1]", "http://[2002:a00:1::1]", "http://[2002:c0a8:101::1]"},
		"user name":     {"https://user@hooks.invalid", "https://user:password@hooks.invalid", "https://@hooks.invalid/", "https://hooks.invalid@127.0.0.1"},
		"http or https": {"", "/hook", "hooks.invalid", "ftp://hooks.invalid", "file:///etc/passwd", "javascript:alert(1)", "//hooks.invalid", "gopher://hooks.invalid"},
		"a host":        {"https://", "https:///hook", "https://:443/", "https:hooks.invalid"},
		"port":          {"https://hooks.invalid:0", "https://hooks.invalid:65536", "https://hooks.invalid:"},
		"usual form":    {"http://2130706433", "http://0x7f000001", "http://127.1", "http://0x7f.1", "http://0177.0.0.1", "http://127.0.0.1.", "http://1.2.3.4.5", "http://a.0x7f", "http://."},
		"be a URL":      {"https://hooks.invalid:port", "http://[::1", "http://a b.invalid", "https://hooks.invalid/%zz", "http://\x7f.invalid"},
	}
	for what, list := range refused {
		for _, u := range list {
			err := (Guard{}).CheckURL(context.Background(), u)
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), what) || !strings.HasPrefix(err.Error(), "must ") {
				t.Errorf("%q: %v, expected a refusal that tells of %q", u, err, what)
			}
			var reason interface{ Loopback() bool }
			if !errors.As(err, &reason) || reason.Loopback() != strings.Contains(err.Error(), "loopback") {
				t.Errorf("%q: %v: the refusal does not tell loopback apart", u, err)
			}
		}
	}
}

// TestCheckURLConfigured checks the effects of the operator's flags.
func TestCheckURLConfigured(t *testing.T) {
	t.Parallel()
	allow := Guard{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}}
	production := Guard{AllowCIDRs: allow.AllowCIDRs, Production: true}
	for _, c := range []struct {
		guard Guard
		url   string
		ok    bool
	}{
		{allow, "http://10.1.2.3", true}, {allow, "http://[::ffff:10.1.2.3]", true}, {allow, "http://[fd00::1]", true},
		{allow, "http://10.2.0.1", false}, {allow, "http://127.0.0.1", false}, {allow, "http://[64:ff9b::10.1.2.3]", false},
		{Guard{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, "http://localhost:9000", true}, {Guard{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, "http://[::1]", false},
		{production, "http://93.184.216.34", false}, {production, "https://93.184.216.34", true},
		{production, "https://10.1.2.3", true}, {production, "http://10.1.2.3", false}, {production, "https://127.0.0.1", false},
	} {
		if err := c.guard.CheckURL(context.Background(), c.url); (err == nil) != c.ok {
			t.Errorf("%s with %+v: %v", c.url, c.guard, err)
		}
	}
}

// FuzzCheckURL checks, for any text, that an accepted URL names a host without a user, and that an
// address in it is public.
func FuzzCheckURL(f *testing.F) {
	for _, u := range []string{"https://hooks.invalid/x", "http://[::ffff:127.0.0.1]:80", "http://0x7f.1", "https://a@b"} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := (Guard{}).Parse(text)
		if err != nil {
			return
		}
		if u.User != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Errorf("%q passed", text)
		}
		if address, err := netip.ParseAddr(u.Hostname()); err == nil && notPublic(address) == "" && !address.WithZone("").Unmap().IsGlobalUnicast() {
			t.Errorf("%q is taken for public", text)
		}
	})
}
