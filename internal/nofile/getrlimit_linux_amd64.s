#include "textflag.h"

// func getrlimit(limit *[2]uint64) uintptr
TEXT ·getrlimit(SB), NOSPLIT, $0-16
	MOVQ $97, AX // getrlimit
	MOVQ $7, DI  // RLIMIT_NOFILE
	MOVQ limit+0(FP), SI
	SYSCALL
	MOVQ AX, ret+8(FP)
	RET
