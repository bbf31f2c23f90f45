package users

import (
	"net/netip"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/secrets/hashing"
)

// DeviceLife is the time from a sign-in for which its device is a known one.
const DeviceLife = 90 * 24 * time.Hour

// source is where a try comes from. Its failures count for it, and for nothing else (D22.13).
type source struct {
	id    string // a network as "192.0.2.0/24", a device as "device:…", a session as "session:…"
	limit string // AddressTries counts for it: an address, a device or a session
	by    hashing.By
}

// known reports whether the source is a device or a session of the user.
func (s source) known() bool { return s.by.Known }

// source returns the source of a try: a device on which the user has signed in before, or the
// network.
func (u *Users) source(in SignInInput) source {
	if c, is := u.device(in); is {
		id := "device:" + c.Device
		return source{id: id, limit: id, by: hashing.By{Who: string(c.Account), Known: true}}
	}
	network := networkOf(in.From, 24, 48)
	return source{id: network, limit: networkOf(in.From, 32, 64), by: hashing.By{Who: network}}
}

// device returns the claims of a device that belongs to the user whom a try names.
func (u *Users) device(in SignInInput) (claims, bool) {
	c, ours := u.read(in.Device)
	if !ours || c.Device == "" || !u.now().Before(c.Expires) {
		return claims{}, false
	}
	if in.Step != "" {
		step, ours := u.read(in.Step)
		return c, ours && step.Account == c.Account && step.User == c.User
	}
	if in.Account != "" && in.Account != c.Account {
		return claims{}, false
	}
	for _, a := range u.Directory() {
		if a.ID == c.Account {
			user, has := a.UserNamed(in.Email)
			return c, has && user.ID == c.User
		}
	}
	return claims{}, false
}

// deviceToken makes the device of a sign-in a known one. A known one keeps its name.
func (u *Users) deviceToken(made SignedIn, in SignInInput) (string, error) {
	now := u.now().UTC()
	c := claims{Account: made.Account, User: made.User.ID, Issued: now, Expires: now.Add(DeviceLife)}
	if known, is := u.device(in); is && known.Account == made.Account && known.User == made.User.ID {
		c.Device = known.Device
	} else {
		var err error
		if c.Device, err = eventstore.NewUUID(u.Accounts.Random); err != nil {
			return "", err
		}
	}
	return u.sign(c)
}

func sessionSource(who Current) source {
	id := "session:" + string(who.Session.ID)
	return source{id: id, limit: id, by: hashing.By{Who: string(who.Account.ID), Known: true}}
}

// networkOf returns the network of an address, of so many bits: a customer of a network provider
// may have all of its addresses.
func networkOf(from netip.Addr, bits4, bits6 int) string {
	from = from.Unmap().WithZone("")
	bits := bits4
	if from.Is6() {
		bits = bits6
	}
	network, err := from.Prefix(bits)
	if err != nil {
		return "unknown"
	}
	return network.String()
}

// pair is what failures of a source with one user's secrets count for, whatever name the user has.
func (s source) pair(owner domain.AccountID, user domain.UserID, what string) pair {
	return pairOf("user", string(owner), string(user), what, s.id)
}
