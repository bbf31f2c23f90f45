package notifier

type waiter struct {
	due int64 // microseconds since lane.made, by the monotonic clock
	at  uint64
}

// waiters is a heap (container/heap): the first element is due first.
type waiters []waiter

func (w waiters) Len() int { return len(w) }

func (w waiters) Less(i, j int) bool {
	return w[i].due < w[j].due || w[i].due == w[j].due && w[i].at < w[j].at
}

func (w waiters) Swap(i, j int) { w[i], w[j] = w[j], w[i] }

func (w *waiters) Push(one any) { *w = append(*w, one.(waiter)) }

// Pop frees the memory of an empty heap.
func (w *waiters) Pop() any {
	last := len(*w) - 1
	one := (*w)[last]
	if *w = (*w)[:last]; last == 0 {
		*w = nil
	}
	return one
}
