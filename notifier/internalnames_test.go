package notifier

import (
	"context"
	"errors"
	"net/netip"
	"payledger/notifier/guard"
	"strings"
	"testing"
)

// TestHostsAreNormalized: a host is judged by the name that a connection would use, however it is
// written (D18).
func TestHostsAreNormalized(t *testing.T) {
	t.Parallel()
	dns := guard.Guard{Resolver: rebind([]string{"93.184.216.34"}).resolver()}
	for host, what := range map[string]string{
		"１２７.0.0.1": "a loopback address", "127。0。0。1": "a loopback address", "１２７．０．０．１": "a loopback address",
		"127｡0｡0｡1": "a loopback address", "１０.1.2.3": "a private address", "169。254。169。254": "a metadata service",
		"%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1": "a loopback address", "⑫７.0.0.1": "a loopback address",
		"ｌｏｃａｌｈｏｓｔ": "a loopback address", "LOCAL\u00adHOST": "a loopback address", "①２７.1": "usual form", "０ｘ7f000001": "usual form",
		"shop。internal": "a private network", "ßhop\u200b.ｌocal": "a private network", "ü_.example": "domain name",
	} {
		err := dns.CheckURL(context.Background(), "https://"+host+":8443/hook")
		if !errors.Is(err, guard.ErrRefused) || !strings.Contains(err.Error(), what) {
			t.Errorf("%q: %v, expected a refusal that tells of %q", host, err, what)
		}
	}
	for _, host := range []string{"bücher.example", "ｓｈｏｐ.example", "xn--bcher-kva.example", "my_shop.example", "例え。テスト"} {
		if err := dns.CheckURL(context.Background(), "https://"+host+"/hook"); err != nil {
			t.Errorf("%q: %v", host, err)
		}
	}
}

// TestInternalNames: names of private networks and of metadata services are refused even where they
// lead to a public address or are not known at the moment; the operator's networks are the
// exception (D18).
func TestInternalNames(t *testing.T) {
	t.Parallel()
	internal := []string{
		"shop.internal", "internal", "SHOP.Internal.", "a.b.local", "local", "nas.home.arpa", "metadata", "metadata.google.internal",
		"instance-data", "instance-data.ec2.internal", "metadata.packet.net", "box.localdomain",
	}
	allow := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	nowhere := rebind([]string{})
	for _, host := range internal {
		for name, g := range map[string]guard.Guard{
			"public":            {Resolver: rebind([]string{"93.184.216.34"}).resolver()},
			"not known":         {Resolver: nowhere.resolver(), AllowCIDRs: allow},
			"private":           {Resolver: rebind([]string{"10.1.0.1"}).resolver()},
			"allowed in part":   {Resolver: rebind([]string{"10.1.0.1", "10.2.0.1"}).resolver(), AllowCIDRs: allow},
			"public, with CIDR": {Resolver: rebind([]string{"93.184.216.34"}).resolver(), AllowCIDRs: allow},
		} {
			if err := g.CheckURL(context.Background(), "https://"+host+"/"); !errors.Is(err, guard.ErrRefused) {
				t.Errorf("%s, %s: %v", host, name, err)
			}
		}
		g := guard.Guard{Resolver: rebind([]string{"10.1.0.1", "10.1.0.2"}).resolver(), AllowCIDRs: allow}
		if err := g.CheckURL(context.Background(), "https://"+host+"/"); err != nil {
			t.Errorf("%s in an allowed network: %v", host, err)
		}
	}
	g := guard.Guard{Resolver: rebind([]string{"93.184.216.34"}).resolver()}
	for _, host := range []string{"internal.example", "mylocal", "local.example", "notinternal", "metadata.example", "metadata-of.example"} {
		if err := g.CheckURL(context.Background(), "https://"+host+"/"); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}
