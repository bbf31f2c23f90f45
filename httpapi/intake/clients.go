package intake

import (
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ipv6Bits is the length of the IPv6 prefix that counts as one client: networks assign a subscriber
// at least a /64.
const ipv6Bits = 64

// Clients counts the connections or requests of each client address. Behind a trusted proxy the
// forwarded address counts.
type Clients struct {
	*Shares[netip.Addr]
	trusted []netip.Prefix
}

// NewClients makes the counts. most is the limit of one address; 0 is no limit.
func NewClients(trusted []netip.Prefix, most int) *Clients {
	if most <= 0 {
		most = math.MaxInt
	}
	return &Clients{NewShares[netip.Addr](math.MaxInt64, int64(most)), trusted}
}

// Trusts reports whether an address is a trusted proxy's.
func (c *Clients) Trusts(peer netip.Addr) bool {
	return slices.ContainsFunc(c.trusted, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// Of returns the address that a request's limits count for, and whether a trusted proxy forwarded
// it. The address is the peer's, or the right-most address of X-Forwarded-For, else of Forwarded,
// that is not a proxy's. At an entry that is no address, the address of the proxy that wrote the
// entry counts. If both headers are sent and differ, one is the client's own, and the peer counts.
func (c *Clients) Of(r *http.Request) (who netip.Addr, forwarded bool) {
	peer := peerOf(r.RemoteAddr)
	if !c.Trusts(peer) {
		return client(peer), false
	}
	byList, listed := c.rightmost(peer, r.Header["X-Forwarded-For"], func(entry string) string { return entry })
	byFields, fielded := c.rightmost(peer, r.Header["Forwarded"], forField)
	switch {
	case listed && fielded && byList != byFields:
		return client(peer), true
	case fielded && !listed:
		return client(byFields), true
	default:
		return client(byList), true
	}
}

// rightmost returns the right-most address of a header's lines that is not a proxy's, and whether
// the header was sent. It looks at no more entries than it needs, however many a client sends.
func (c *Clients) rightmost(peer netip.Addr, lines []string, address func(entry string) string) (found netip.Addr, there bool) {
	found = peer
	for _, line := range slices.Backward(lines) {
		for more := true; more; {
			var entry string
			at := strings.LastIndexByte(line, ',')
			entry, line, more = line[at+1:], line[:max(0, at)], at >= 0
			is := parseAddress(address(strings.TrimSpace(entry)))
			if !is.IsValid() {
				return found, true
			}
			if found = is; !c.Trusts(is) {
				return found, true
			}
		}
	}
	return found, len(lines) > 0
}

func forField(entry string) string {
	for part := range strings.SplitSeq(entry, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok && strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseAddress reads an address with or without a port, an IPv6 address also in brackets. Other
// texts give an invalid address.
func parseAddress(text string) netip.Addr {
	if at, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")); err == nil {
		return at.Unmap().WithZone("")
	}
	return peerOf(text)
}

// peerOf reads the address of "address:port". Other texts give an invalid address.
func peerOf(text string) netip.Addr {
	at, _ := netip.ParseAddrPort(text)
	return at.Addr().Unmap().WithZone("")
}

// client returns the address that represents all addresses of one client.
func client(at netip.Addr) netip.Addr {
	if !at.Is6() {
		return at
	}
	prefix, _ := at.Prefix(ipv6Bits) // an IPv6 address has more bits
	return prefix.Addr()
}
