package users

import (
	"crypto/sha256"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/account"
)

// mostStrangers is the number of unknown names that are remembered.
const mostStrangers = 4 << 10

// strangers locks names that no user has, by the rules of a user: an answer does not reveal whether a name exists. It knows the hashes of the names
// only: a user may have typed the password into the field of the name.
type strangers struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]account.User
}

const stranger domain.UserID = "stranger"

// locked returns the refusal of a locked name.
func (s *strangers) locked(owner domain.AccountID, name string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return refusalOf(s.by[nameHash(owner, name)].Locked(now))
}

// fail counts a failure, and returns the refusal if it locks the name.
func (s *strangers) fail(owner domain.AccountID, name string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := nameHash(owner, name)
	user := s.by[hash]
	user.ID = stranger
	state := account.State{Users: []account.User{user}}
	e, err := account.DecideFailSignIn(state, account.FailSignIn{At: now, User: stranger})
	if err != nil {
		return refusalOf(err)
	}
	s.makeRoom(now)
	user, _ = account.Evolve(state, e).User(stranger)
	s.by[hash] = user
	return refusalOf(user.Locked(now))
}

// makeRoom forgets names when there are many: first those whose failures do not count any more, then any.
func (s *strangers) makeRoom(now time.Time) {
	if s.by == nil {
		s.by = map[[sha256.Size]byte]account.User{}
	}
	if len(s.by) < mostStrangers {
		return
	}
	for hash, user := range s.by {
		if user.Locked(now) == nil && now.Sub(user.FailedAt) >= account.LockFor {
			delete(s.by, hash)
		}
	}
	for hash := range s.by {
		if len(s.by) < mostStrangers {
			return
		}
		delete(s.by, hash)
	}
}

func nameHash(owner domain.AccountID, name string) [sha256.Size]byte {
	return sha256.Sum256([]byte(string(owner) + "\x00" + account.UserName(name)))
}
