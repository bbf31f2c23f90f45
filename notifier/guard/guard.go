package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrRefused means that webhooks may not go to a URL or an address (D18). The text after its colon
// is the reason, for the merchant.
var ErrRefused = errors.New("notifier: refused")

// resolveTime bounds the look-up of a host's name when an endpoint is created.
const resolveTime = 3 * time.Second

// Guard decides where webhooks may go (D18). The zero Guard is the sandbox's: it allows http, but
// no private networks.
type Guard struct {
	AllowCIDRs []netip.Prefix // networks that are allowed although they are not public
	Production bool           // https only
	Resolver   *net.Resolver  // nil: the machine's
}

// CheckURL returns nil if an endpoint may have the URL, else an error whose text is the description
// of a violation ("must be an https URL"), and whose method Loopback() tells an address of this
// machine apart. All addresses of a host name must be public. A name that cannot be resolved now
// passes, because the connection is checked again. All addresses of an internal name must be in
// AllowCIDRs.
func (g Guard) CheckURL(ctx context.Context, text string) error {
	u, err := g.Parse(text)
	if err != nil {
		return violation(err)
	}
	host := u.Hostname()
	if address, err := netip.ParseAddr(host); err == nil {
		return violation(g.checkAddress(address))
	}
	if local(host) {
		if g.checkAddress(loopback6) == nil {
			return nil
		}
		return violation(g.checkAddress(loopback4))
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	addresses, err := g.Resolver.LookupNetIP(ctx, "ip", host)
	if what := internalName(host); what != "" && (err != nil || !g.allowsAll(addresses)) {
		return violation(refuse("must not lead to " + what + " (" + host + ")"))
	}
	if err != nil {
		return nil
	}
	for _, address := range addresses {
		if err := g.checkAddress(address); err != nil {
			return violation(err)
		}
	}
	return nil
}

// Control is a net.Dialer's Control: it refuses a connection by the resolved address.
func (g Guard) Control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: network %s", ErrRefused, network)
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: address %s", ErrRefused, address)
	}
	return g.checkAddress(to.Addr())
}

// Parse checks the text of a URL. The result has an asciiHost.
func (g Guard) Parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, refuse("must be a URL")
	}
	host, named := asciiHost(u.Hostname())
	if u.Hostname() != "" {
		u.Host = strings.Replace(u.Host, u.Hostname(), host, 1)
	}
	switch {
	case !named:
		return nil, refuse("must name a host by a valid domain name")
	case g.Production && u.Scheme != "https":
		return nil, refuse("must be an https URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, refuse("must be an http or https URL")
	case u.User != nil:
		return nil, refuse("must not hold a user name or password")
	case host == "" || u.Opaque != "":
		return nil, refuse("must name a host")
	case !validPort(u):
		return nil, refuse("must have a port between 1 and 65535, or none")
	case numeric(host):
		return nil, refuse("must name its host by a name or an address of the usual form")
	}
	return u, nil
}

// local reports whether a host name always means this machine (RFC 6761). CheckURL accepts it if
// one loopback address is allowed.
func local(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func validPort(u *url.URL) bool {
	if strings.HasSuffix(u.Host, ":") {
		return false
	}
	if u.Port() == "" {
		return true
	}
	_, err := netip.ParseAddrPort("[::]:" + u.Port())
	return err == nil && strings.Trim(u.Port(), "0") != ""
}

// numeric reports whether the last label of a host is a number: some resolvers read it as an IPv4
// address ("0x7f.1", "127.1").
func numeric(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndex(host, ".")+1:])
	return last == "" || strings.Trim(last, "0123456789") == "" ||
		strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == ""
}

func (g Guard) allows(address netip.Addr) bool {
	return slices.ContainsFunc(g.AllowCIDRs, func(p netip.Prefix) bool { return p.Contains(address.WithZone("").Unmap()) })
}

func (g Guard) allowsAll(addresses []netip.Addr) bool {
	return len(addresses) > 0 && !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !g.allows(a) })
}

func (g Guard) checkAddress(address netip.Addr) error {
	address = address.WithZone("").Unmap()
	if g.allows(address) {
		return nil
	}
	switch what := notPublic(address); what {
	case "":
		return nil
	case errLoopback.Error():
		return fmt.Errorf("%w: must not lead to %w (%s)", ErrRefused, errLoopback, address)
	default:
		return refuse("must not lead to " + what + " (" + address.String() + ")")
	}
}

func refuse(why string) error { return fmt.Errorf("%w: %s", ErrRefused, why) }

var errLoopback = errors.New("a loopback address")

// refusal is an ErrRefused whose text is only the reason.
type refusal struct{ err error }

// Loopback reports whether the reason is that the URL leads to the service's own machine.
func (r refusal) Loopback() bool { return errors.Is(r.err, errLoopback) }

func (r refusal) Error() string { return strings.TrimPrefix(r.err.Error(), ErrRefused.Error()+": ") }
func (r refusal) Unwrap() error { return r.err }

func violation(err error) error {
	if err == nil {
		return nil
	}
	return refusal{err}
}
