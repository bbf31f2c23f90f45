package users

import (
	"maps"
	"net/netip"
	"sync"
	"time"
)

const (
	addressEvery  = 15 * time.Second // an address gets one more try in this time
	mostAddresses = 16 << 10         // further ones share one limit
)

type addresses struct {
	mu sync.Mutex
	by map[netip.Addr]tries
}

// tries is a number of tries at a time; it falls by one each addressEvery.
type tries struct {
	n  float64
	at time.Time
}

func (t tries) left(now time.Time) float64 {
	return max(0, t.n-max(0, float64(now.Sub(t.at)))/float64(addressEvery))
}

// counted returns the address that a limit counts for: an IPv6 network of 64 bits is one customer's.
func counted(from netip.Addr) netip.Addr {
	if from = from.Unmap(); !from.Is6() {
		return from
	}
	network, err := from.WithZone("").Prefix(64)
	if err != nil {
		return netip.Addr{}
	}
	return network.Addr()
}

func (a *addresses) take(from netip.Addr, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	who := a.place(counted(from), now)
	left := a.by[who].left(now)
	if left+1 > AddressTries {
		return &Refusal{Reason: TooManyTries, Until: now.Add(time.Duration((left + 1 - AddressTries) * float64(addressEvery)))}
	}
	a.by[who] = tries{left + 1, now}
	return nil
}

func (a *addresses) giveBack(from netip.Addr, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	who := a.place(counted(from), now)
	a.by[who] = tries{max(0, a.by[who].left(now)-1), now}
}

// place returns the key of an address. When there are many, it drops those without tries; if that is not enough, new ones share a key.
func (a *addresses) place(who netip.Addr, now time.Time) netip.Addr {
	if a.by == nil {
		a.by = map[netip.Addr]tries{}
	}
	if _, known := a.by[who]; known || len(a.by) < mostAddresses {
		return who
	}
	maps.DeleteFunc(a.by, func(_ netip.Addr, t tries) bool { return t.left(now) == 0 })
	if len(a.by) < mostAddresses {
		return who
	}
	return netip.Addr{}
}
