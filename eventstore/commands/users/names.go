package users

import (
	"crypto/sha256"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/account"
)

// mostNames is the number of names that are remembered.
const mostNames = 4 << 10

// names locks names that belong to no one user, by the rules of a user: those that no user has, so that an answer does not reveal whether a
// name exists, and those that users of several accounts have and that came without an account. It has the hashes of the names only: a user
// may have typed the password into the field of the name.
type names struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]account.User
}

const nameOnly domain.UserID = "name"

// forgetName is the time after which failures of a name do not count any more. No sign-in resets them: it must not help somebody who
// guesses. A user's own failures count for longer (account.ForgetFailures), but end with a sign-in.
const forgetName = time.Hour

// locked returns the refusal of a locked name.
func (n *names) locked(owner domain.AccountID, name string, now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return refusalOf(n.by[nameHash(owner, name)].Locked(now))
}

// fail counts a failure, and returns the refusal if it locks the name.
func (n *names) fail(owner domain.AccountID, name string, now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	hash := nameHash(owner, name)
	user := n.by[hash]
	if user.Locked(now) == nil && now.Sub(user.FailedAt) >= forgetName {
		user = account.User{}
	}
	user.ID = nameOnly
	state := account.State{Users: []account.User{user}}
	e, err := account.DecideFailSignIn(state, account.FailSignIn{At: now, User: nameOnly})
	if err != nil {
		return refusalOf(err)
	}
	n.makeRoom(now)
	user, _ = account.Evolve(state, e).User(nameOnly)
	n.by[hash] = user
	return refusalOf(user.Locked(now))
}

// makeRoom forgets names when there are many: first those whose failures do not count any more, then any.
func (n *names) makeRoom(now time.Time) {
	if n.by == nil {
		n.by = map[[sha256.Size]byte]account.User{}
	}
	if len(n.by) < mostNames {
		return
	}
	for hash, user := range n.by {
		if user.Locked(now) == nil && now.Sub(user.FailedAt) >= forgetName {
			delete(n.by, hash)
		}
	}
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
