/* What the slack of a record about memory of devices says (records.def): which space, and whether
 * the address is the handle of physical memory. A handle is no address, so both may have one
 * number. */
#ifndef TIDEMARK_WIRE_DEVICE_RECORDS_H
#define TIDEMARK_WIRE_DEVICE_RECORDS_H

#define WIRE_DEVICE_HANDLE     0x100u
#define WIRE_DEVICE_SPACE_MASK 0xffu

#endif
