package users

import (
	"maps"
	"sync"
	"time"
)

const (
	mostLimited = 16 << 10    // keys of a limiter; further ones share one limit
	sweepEvery  = time.Second // a full map is searched for entries to forget at most once in this time
)

// limiter bounds how often something happens for each of many keys: at most most times at once, and
// once more each every.
type limiter struct {
	most  float64
	every time.Duration

	mu    sync.Mutex
	by    map[string]tries
	swept time.Time
}

// tries is a number of tries at a time; it falls by one each every.
type tries struct {
	n  float64
	at time.Time
}

func (l *limiter) left(key string, now time.Time) float64 {
	t := l.by[key]
	return max(0, t.n-max(0, float64(now.Sub(t.at)))/float64(l.every))
}

// take counts a try. until is the time of the next one if there are too many; it is zero otherwise.
func (l *limiter) take(key string, now time.Time) (until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key = l.place(key, now)
	left := l.left(key, now)
	if left+1 > l.most {
		return now.Add(time.Duration((left + 1 - l.most) * float64(l.every)))
	}
	l.by[key] = tries{left + 1, now}
	return time.Time{}
}

func (l *limiter) giveBack(key string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key = l.place(key, now)
	l.by[key] = tries{max(0, l.left(key, now)-1), now}
}

// place returns the key to count for. When there are many, it drops those without tries; if that is
// not enough, new ones share a key.
func (l *limiter) place(key string, now time.Time) string {
	if l.by == nil {
		l.by = map[string]tries{}
	}
	if _, known := l.by[key]; known || len(l.by) < mostLimited {
		return key
	}
	if now.Sub(l.swept) >= sweepEvery {
		maps.DeleteFunc(l.by, func(key string, _ tries) bool { return l.left(key, now) == 0 })
		l.swept = now
	}
	if len(l.by) < mostLimited {
		return key
	}
	return ""
}
