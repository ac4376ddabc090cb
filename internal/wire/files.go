package wire

import "os"

// CloseAll closes files that travelled, or were to travel, with a message. Those
// that are nil are passed over.
func CloseAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
