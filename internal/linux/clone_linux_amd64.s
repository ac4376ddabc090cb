#include "textflag.h"

// func cloneVM(flags, stack, pidfd uintptr, p *player, status uintptr) uintptr
//
// R12 and R13 survive the system call: they carry the arguments of playAndExit
// over to the child's own stack.
TEXT ·cloneVM(SB), NOSPLIT, $0-48
	MOVQ flags+0(FP), DI
	MOVQ stack+8(FP), SI
	MOVQ pidfd+16(FP), DX
	XORQ R10, R10
	XORQ R8, R8
	MOVQ p+24(FP), R12
	MOVQ status+32(FP), R13
	MOVQ $56, AX // clone
	SYSCALL
	TESTQ AX, AX
	JZ    child
	MOVQ  AX, ret+40(FP)
	RET

child:
	SUBQ $32, SP
	MOVQ R12, 0(SP)
	MOVQ R13, 8(SP)
	CALL ·playAndExit(SB)
	INT  $3
