package archive

import "payledger/eventstore/tipstore"

// InspectWith inspects a folder with a tip store of another place.
func InspectWith(dir string, tips *tipstore.Store, report Damaged) error {
	in := inspection{dir: dir, tips: tips, report: report}
	return in.run()
}
