package notifier

// heap is a binary heap of values; less(a, b) puts a before b.
type heap[T any] struct {
	less  func(a, b T) bool
	items []T
}

func (h *heap[T]) len() int { return len(h.items) }

// top is the first value; the heap is not empty.
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

// pop takes the first value out; the heap is not empty.
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

// waiter is a delivery whose next attempt is due at a time, by its place in the stream: 16 bytes.
type waiter struct {
	due int64 // Unix microseconds
	at  uint64
}

func newWaiters() heap[waiter] {
	return heap[waiter]{less: func(a, b waiter) bool { return a.due < b.due || a.due == b.due && a.at < b.at }}
}

// places is a set of places in the stream that knows its smallest.
type places struct {
	in    map[uint64]struct{}
	order heap[uint64] // holds places that were taken out, too
}

func newPlaces() places {
	return places{in: map[uint64]struct{}{}, order: heap[uint64]{less: func(a, b uint64) bool { return a < b }}}
}

func (p *places) has(at uint64) bool {
	_, there := p.in[at]
	return there
}

func (p *places) add(at uint64) {
	if p.has(at) {
		return
	}
	p.in[at] = struct{}{}
	p.order.push(at)
	if len(p.order.items) > 2*len(p.in)+64 { // mostly places that were taken out
		p.order.items = p.order.items[:0]
		for at := range p.in {
			p.order.push(at)
		}
	}
}

func (p *places) remove(at uint64) { delete(p.in, at) }

// min is the smallest place; false when there is none.
func (p *places) min() (uint64, bool) {
	for p.order.len() > 0 && !p.has(p.order.top()) {
		p.order.pop()
	}
	if p.order.len() == 0 {
		return 0, false
	}
	return p.order.top(), true
}
