package domain

// Event is a fact about an aggregate; Type is its name in the log (ce-type, I2). The struct is the
// newest schema.
type Event interface{ Type() string }
