// Package person is the aggregate of a person's erasures.
//
// A person is a customer of an account, or the guest of one client session. The log has the
// person's data sealed under a key of the person. The keys of a person have numbers from 1. An
// erasure is the destruction of the key, and new data is sealed under the key of the next number.
//
// Rules:
//
//   - A person without an erasure has no events, and the number of the key is 1.
//   - An erasure is two events: Erased names the number of the key, before anything is destroyed;
//     KeyDestroyed says that the key is gone. Between the two the erasure is due: a start, or the
//     running service, continues it.
//   - A number that was erased never seals data again.
//
// It must not know the person's data, nor how a key is stored.
package person
