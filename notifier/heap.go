package notifier

// heap is a binary heap. less reports whether a is before b.
type heap[T any] struct {
	less  func(a, b T) bool
	items []T
}

func (h *heap[T]) len() int { return len(h.items) }

// top returns the first value. The heap must not be empty.
func (h *heap[T]) top() T { return h.items[0] }

func (h *heap[T]) push(v T) {
	h.items = append(h.items, v)
	for i := len(h.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(h.items[i], h.items[parent]) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

// pop removes and returns the first value. The heap must not be empty.
func (h *heap[T]) pop() T {
	first, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if right := child + 1; right < last && h.less(h.items[right], h.items[child]) {
			child = right
		}
		if !h.less(h.items[child], h.items[i]) {
			break
		}
		h.items[i], h.items[child] = h.items[child], h.items[i]
		i = child
	}
	if last == 0 {
		h.items = nil
	}
	return first
}

// waiter is a delivery that waits: the time when it may be sent, and its place in the stream.
type waiter struct {
	due int64 // microseconds since lane.made, by the process's own clock
	at  uint64
}

func newWaiters() heap[waiter] {
	return heap[waiter]{less: func(a, b waiter) bool { return a.due < b.due || a.due == b.due && a.at < b.at }}
}

// places is a set of places in the stream.
type places map[uint64]struct{}

func (p places) has(at uint64) bool {
	_, there := p[at]
	return there
}

func (p places) add(at uint64) { p[at] = struct{}{} }

func (p places) remove(at uint64) { delete(p, at) }
