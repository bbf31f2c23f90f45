package users

import (
	"crypto/sha256"
	"maps"
	"strings"
	"sync"
	"time"

	"payledger/domain/account"
)

// mostPairs is more than the comparisons of an hour.
const mostPairs = 32 << 10

// slowdown counts the failures of pairs of a user's name and a source: a network, a device or a
// session (D22.13). account.MaxFailures of them stop further tries of the pair for account.LockFor.
// A name that no user has is counted in the same way, so that an answer does not reveal whether a
// name exists. It has hashes only: a user may have typed the password into the field of the name.
type slowdown struct {
	mu    sync.Mutex
	by    map[pair]failures
	swept time.Time
}

// pair is the hash of a name and a source.
type pair [sha256.Size]byte

func pairOf(parts ...string) pair { return sha256.Sum256([]byte(strings.Join(parts, "\x00"))) }

type failures struct {
	count  int       // since the newest wait
	newest time.Time // of those that count; zero: none
	until  time.Time // end of the wait; zero: none
}

// forgetPair is the time after which failures of a pair do not count any more.
const forgetPair = time.Hour

func (f failures) waits(now time.Time) error {
	if now.Before(f.until) {
		return &Refusal{Reason: LockedUser, Until: f.until}
	}
	return nil
}

func (f failures) over(now time.Time) bool {
	return f.waits(now) == nil && now.Sub(f.newest) >= forgetPair
}

// and returns the failures with one more at now.
func (f failures) and(now time.Time) failures {
	if f.over(now) {
		f = failures{}
	}
	if f.count+1 < account.MaxFailures {
		return failures{count: f.count + 1, newest: now}
	}
	return failures{until: now.Add(account.LockFor)}
}

// waits returns the refusal if a pair has no try now.
func (s *slowdown) waits(p pair, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[p].waits(now)
}

// fail counts a failure, and returns the end of the wait if it was one too many. Failures of a pair
// that waits do not count.
func (s *slowdown) fail(p pair, now time.Time) (until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.by[p]
	if before.waits(now) != nil {
		return before.until
	}
	s.makeRoom(now)
	after := before.and(now)
	s.by[p] = after
	return after.until
}

// clear forgets the failures of a pair after a success.
func (s *slowdown) clear(p pair) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, p)
}

// makeRoom forgets pairs when there are many: first those whose failures do not count any more,
// then any.
func (s *slowdown) makeRoom(now time.Time) {
	if s.by == nil {
		s.by = map[pair]failures{}
	}
	if len(s.by) < mostPairs {
		return
	}
	if now.Sub(s.swept) >= sweepEvery {
		maps.DeleteFunc(s.by, func(_ pair, f failures) bool { return f.over(now) })
		s.swept = now
	}
	for p := range s.by {
		if len(s.by) < mostPairs {
			return
		}
		delete(s.by, p)
	}
}
