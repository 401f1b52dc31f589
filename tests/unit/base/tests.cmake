tidemark_unit_test(base human)
tidemark_unit_test(base text)
tidemark_unit_test(base json)
tidemark_unit_test(base options)
