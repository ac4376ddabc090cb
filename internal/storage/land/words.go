package land

// What could not be done, in the words of an error: "cannot land the changes".
const (
	opLand    = "land the changes"
	opRecover = "recover the landing"
	opUndo    = "undo"
	opExpire  = "expire the receipt"
	opFind    = "look at what an apply left behind"
	opRestore = "restore what an apply left behind"
	opDelete  = "delete what an apply left behind"
	opRead    = "read the receipt"
)
