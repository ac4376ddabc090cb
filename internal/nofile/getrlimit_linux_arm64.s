#include "textflag.h"

// func getrlimit(limit *[2]uint64) uintptr
TEXT ·getrlimit(SB), NOSPLIT, $0-16
	MOVD $163, R8 // getrlimit
	MOVD $7, R0   // RLIMIT_NOFILE
	MOVD limit+0(FP), R1
	SVC
	MOVD R0, ret+8(FP)
	RET
