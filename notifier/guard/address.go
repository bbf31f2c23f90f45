package guard

import (
	"net/netip"
	"slices"
)

type network struct {
	prefix netip.Prefix
	what   string
}

func networks(what string, prefixes ...string) []network {
	list := make([]network, len(prefixes))
	for i, p := range prefixes {
		list[i] = network{netip.MustParsePrefix(p), what}
	}
	return list
}

// notPublicNetworks lists the networks that are not public, by the registries of special-purpose
// addresses (RFC 6890 and IANA's tables), and the addresses of metadata services. The first match
// gives the description.
var notPublicNetworks = slices.Concat(
	networks("a metadata service", "169.254.169.254/32", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::254/128"),
	networks("an unspecified address", "0.0.0.0/8", "::/128"),
	networks(errLoopback.Error(), "127.0.0.0/8", "::1/128"),
	networks("a link-local address", "169.254.0.0/16", "fe80::/10"),
	networks("a private address", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fec0::/10"),
	networks("a unique-local address", "fc00::/7"),
	networks("a multicast address", "224.0.0.0/4", "ff00::/8"),
	networks("a reserved address", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "2001::/23" /* Teredo is in it: a tunnel to any host */, "2001:db8::/32", "3fff::/20"),
)

// global is the routed part of IPv6. The rest is reserved.
var global = netip.MustParsePrefix("2000::/3")

var loopback4, loopback6 = netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()

// IPv6 networks whose addresses contain an IPv4 address, to which the packets go.
var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

// notPublic describes an address that is not public, "" for a public one. An IPv4 address in an
// IPv6 address must be public, too.
func notPublic(address netip.Addr) string {
	address = address.WithZone("").Unmap()
	if !address.IsValid() {
		return "no address"
	}
	for _, n := range notPublicNetworks {
		if n.prefix.Contains(address) {
			return n.what
		}
	}
	if address.Is4() {
		return ""
	}
	b := address.As16()
	switch {
	case nat64.Contains(address):
		return notPublic(netip.AddrFrom4([4]byte(b[12:16])))
	case sixTo4.Contains(address):
		return notPublic(netip.AddrFrom4([4]byte(b[2:6])))
	case !global.Contains(address):
		return "a reserved address"
	}
	return ""
}
