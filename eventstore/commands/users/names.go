package users

import (
	"crypto/sha256"
	"maps"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/account"
)

const mostNames = 4 << 10

// names locks names that belong to no one user, as a user is locked (account.MaxFailures, account.LockFor): those that no user has, so that
// an answer does not reveal whether a name exists, and those that users of several accounts have and that came without an account. It has
// the hashes of the names only: a user may have typed the password into the field of the name.
type names struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]failures
}

type failures struct {
	count  int       // since the newest lock
	newest time.Time // of those that count; zero: none
	until  time.Time // end of the lock; zero: never locked
}

// forgetName is the time after which failures of a name do not count any more. No sign-in resets them: it must not help somebody who
// guesses. A user's own failures count for longer (account.ForgetFailures), but end with a sign-in.
const forgetName = time.Hour

func (f failures) locked(now time.Time) error {
	if now.Before(f.until) {
		return &Refusal{Reason: LockedUser, Until: f.until}
	}
	return nil
}

func (f failures) over(now time.Time) bool {
	return f.locked(now) == nil && now.Sub(f.newest) >= forgetName
}

// and returns the failures with one more at now, which locks the name if there are too many.
func (f failures) and(now time.Time) failures {
	if f.over(now) {
		f = failures{}
	}
	if f.count+1 < account.MaxFailures {
		return failures{count: f.count + 1, newest: now}
	}
	return failures{until: now.Add(account.LockFor)}
}

func (n *names) locked(owner domain.AccountID, name string, now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.by[nameHash(owner, name)].locked(now)
}

// fail counts a failure, and returns the refusal if it locks the name. Failures of a locked name do not count: the lock ends at its time.
func (n *names) fail(owner domain.AccountID, name string, now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	hash := nameHash(owner, name)
	before := n.by[hash]
	if err := before.locked(now); err != nil {
		return err
	}
	n.makeRoom(now)
	after := before.and(now)
	n.by[hash] = after
	return after.locked(now)
}

// makeRoom forgets names when there are many: first those whose failures do not count any more, then any.
func (n *names) makeRoom(now time.Time) {
	if n.by == nil {
		n.by = map[[sha256.Size]byte]failures{}
	}
	if len(n.by) < mostNames {
		return
	}
	maps.DeleteFunc(n.by, func(_ [sha256.Size]byte, f failures) bool { return f.over(now) })
	for hash := range n.by {
		if len(n.by) < mostNames {
			return
		}
		delete(n.by, hash)
	}
}

func nameHash(owner domain.AccountID, name string) [sha256.Size]byte {
	return sha256.Sum256([]byte(string(owner) + "\x00" + account.UserName(name)))
}
