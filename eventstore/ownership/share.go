package ownership

import (
	"slices"
	"sync"
	"time"
)

// ShunFor is how long a node gets no shards after it gave one away, or did not keep one.
const ShunFor = 30 * time.Second

// Share shares the shards of a log out evenly among the nodes that serve. It is advice: a node that
// follows other advice does no harm.
type Share struct {
	shunned sync.Map // by name: the time.Time at which it began
}

// Shun keeps shards away from a node for ShunFor.
func (s *Share) Shun(node string) { s.shunned.Store(node, time.Now()) }

// Heir returns the node that gets the next shard of self. Of the other nodes that serve it is the
// one with the fewest shards. If all of them are shunned, it is the one whose time is over first.
// Without another node it is Anyone. owners has the owner of each shard. giver is the node that
// self has the shard from, and does not get it back: it may be leaving, too.
func (s *Share) Heir(self string, serving, owners []string, giver string) string {
	heir, least := Anyone, [2]int{}
	for _, node := range serving {
		if node == self || node == giver {
			continue
		}
		rank := [2]int{s.shuns(node), count(owners, node)}
		if order := slices.Compare(rank[:], least[:]); heir == Anyone || order < 0 || order == 0 && node < heir {
			heir, least = node, rank
		}
	}
	return heir
}

// shuns returns for how many milliseconds more a node gets no shards.
func (s *Share) shuns(node string) int {
	since, shunned := s.shunned.Load(node)
	if !shunned {
		return 0
	}
	return int(max(0, ShunFor-time.Since(since.(time.Time))).Milliseconds())
}

// Surplus returns the node to which self hands one of its shards, because it has at least two
// shards fewer; "" if there is none.
func (s *Share) Surplus(self string, serving, owners []string) string {
	heir := s.Heir(self, serving, owners, "")
	if heir == Anyone || s.shuns(heir) > 0 || count(owners, self) < count(owners, heir)+2 {
		return ""
	}
	return heir
}

func count(owners []string, node string) (n int) {
	for _, owner := range owners {
		if owner == node {
			n++
		}
	}
	return n
}

// Owners returns the nodes that may own shards: those that serve without the guests, or all of them
// if only guests serve. Guests keep no shard while another node serves.
func Owners(serving, guests []string) []string {
	all := slices.DeleteFunc(slices.Clone(serving), func(node string) bool { return slices.Contains(guests, node) })
	if len(all) == 0 {
		return serving
	}
	return all
}
