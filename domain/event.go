package domain

// Event is a fact of some aggregate, in the past tense; Type is its name in the log (ce-type, I2).
// The struct is the newest schema of that name.
type Event interface{ Type() string }
