// Package exactjson reads JSON that a signature, an amount or a decision depends on. Two readers
// must not read two meanings in the same bytes.
//
// encoding/json takes a field by its name in any case ("STATE" for "state"), and of a repeated name
// the last one. So a text can show one value to a person or to another program, and another value
// to this one.
//
// Rules:
//
//   - A text is one JSON value in UTF-8. No object has a name twice, at any depth.
//   - A field is taken by its exact name. A name that differs from a field's in case only is
//     another name.
//   - Unmarshal leaves out names that are no fields: processors add some (D14.4). UnmarshalStrict
//     refuses them.
//   - A json.RawMessage is not looked into: its reader reads it with this package. So a bad element
//     of a list hides no other element.
//   - An error names a field of the type, and never repeats another name or a value of the text: it
//     may be a card number.
//
// The package must not know: the values, who sent the text.
//
// Design note: encoding/json/v2 has these rules, and still needs a GOEXPERIMENT. The package is
// below domain because every top-level folder reads such texts, and may import only domain.
package exactjson
