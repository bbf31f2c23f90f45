package format

// An address names one event of a shard: the sequence of its group in the log, and its frame in the
// group. Both stand in one number, so that addresses sort as the shard's events do. 0 is no
// address.

const (
	frameBits = 8
	// MaxFrames is the largest number of frames in one group.
	MaxFrames = 1 << frameBits
)

// At returns the address of a frame, counted from 0, in the group at a sequence.
func At(group uint64, frame int) uint64 { return group<<frameBits | uint64(frame) }

// GroupOf returns the sequence of the group that holds the address.
func GroupOf(address uint64) uint64 { return address >> frameBits }

// Stretch is consecutive groups of a shard, both ends included.
type Stretch struct{ First, Last uint64 }

// Before and Through return the addresses between which the events of the stretch are.
func (s Stretch) Before() uint64  { return At(s.First, 0) - 1 }
func (s Stretch) Through() uint64 { return At(s.Last, MaxFrames-1) }

// FrameOf returns the frame's place in its group, from 0.
func FrameOf(address uint64) int { return int(address & (MaxFrames - 1)) }
