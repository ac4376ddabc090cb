package land

// What could not be done, in the words of an error: "cannot land the changes".
const (
	opLand    = "land the changes"
	opRecover = "recover the landing"
	opUndo    = "undo"
	opExpire  = "expire the receipt"
	opRead    = "read the receipt"
)
