tidemark_unit_test(redact redact tm_profile tm_base)
