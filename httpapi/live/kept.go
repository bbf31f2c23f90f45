package live

import (
	"slices"
	"time"

	"payledger/domain"
)

// Limits of the requests that a node keeps in memory.
const (
	requestsKept   = 500      // of an account
	bytesKept      = 32 << 20 // of all accounts
	exchangeSize   = 512      // bytes of a kept request, about, without its path and bodies
	keptASecond    = 200      // of all accounts, of requests that succeed; as many of those that fail
	bodiesASecond  = 20       // of keptASecond: with their bodies
	setBack        = 60       // seconds; requests last less
	mostShownBody  = 4 << 10
	mostLookedBody = 64 << 10
)

// Exchange is a request with its body and the body of its answer, as the log may show them: without
// secrets and personal data (Shown).
type Exchange struct {
	Request
	Body   string `json:"body,omitempty"`
	Answer string `json:"answer,omitempty"`
}

// budget counts the requests of the present second.
type budget struct {
	second int64
	taken  int
}

// room is the part of a request that is kept.
type room int

const (
	overBudget room = iota // nothing
	withoutBodies
	withBodies
)

// place takes a place among the requests of a second. Above the budgets a request costs one look.
func (l *RequestLog) place(status int, at time.Time) room {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.succeeded
	if status >= 400 {
		b = &l.failed
	}
	// A request that began a little earlier belongs to this second. A clock that was set back
	// begins anew.
	if second := at.Unix(); second > b.second || second < b.second-setBack {
		b.second, b.taken = second, 0
	}
	switch b.taken++; {
	case b.taken > keptASecond:
		return overBudget
	case b.taken > bodiesASecond:
		return withoutBodies
	default:
		return withBodies
	}
}

// keep keeps a request; whole: with its bodies.
func (l *RequestLog) keep(account domain.AccountID, r Request, whole bool, bodies func() (sent any, answer []byte)) {
	e := &Exchange{Request: r}
	if whole {
		sent, answer := bodies()
		e.Body, e.Answer = Shown(sent), shownText(answer)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.kept[account]
	if at == nil {
		at = l.byUse.PushFront(&keptRequests{account: account})
		l.kept[account] = at
	}
	l.byUse.MoveToFront(at)
	l.bytes += at.Value.(*keptRequests).add(e)
	for l.bytes > l.mostBytes && l.byUse.Len() > 1 {
		oldest := l.byUse.Remove(l.byUse.Back()).(*keptRequests)
		delete(l.kept, oldest.account)
		l.bytes -= oldest.bytes
	}
}

// keptRequests are the kept requests of an account.
type keptRequests struct {
	account domain.AccountID
	all     []*Exchange // the newest at the end; a slice is never changed, only continued
	bytes   int
}

// add keeps a request, and returns by how many bytes the kept ones grew.
func (k *keptRequests) add(e *Exchange) (grown int) {
	before := k.bytes
	k.all = append(k.all, e)
	k.bytes += e.size()
	if len(k.all) > 2*requestsKept { // a copy is made once in so many requests
		old := k.all[:len(k.all)-requestsKept]
		for _, e := range old {
			k.bytes -= e.size()
		}
		k.all = slices.Clone(k.all[len(old):])
	}
	return k.bytes - before
}

func (e *Exchange) size() int { return exchangeSize + len(e.Path) + len(e.Body) + len(e.Answer) }

// newest returns the newest kept requests of an account that fit, at most limit.
func (l *RequestLog) newest(account domain.AccountID, fits func(*Exchange) bool, limit int) []*Exchange {
	l.mu.Lock()
	var all []*Exchange
	if at := l.kept[account]; at != nil {
		all = at.Value.(*keptRequests).all
		all = all[max(0, len(all)-requestsKept):]
	}
	l.mu.Unlock()
	found := []*Exchange{}
	for _, e := range slices.Backward(all) {
		if len(found) < limit && fits(e) {
			found = append(found, e)
		}
	}
	return found
}
