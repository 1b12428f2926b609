//! What files say of themselves.

use super::of;

#[track_caller]
fn check(path: &str, text: &str, expected: Option<&str>) {
    assert_eq!(of(path, text).as_deref(), expected, "{path}: {text}");
}

#[test]
fn the_first_paragraph_of_the_first_comment_is_taken() {
    check(
        "a.rs",
        "//! The dock.\n//! It waits.\n//!\n//! More.\n",
        Some("The dock. It waits."),
    );
    check(
        "a.rs",
        "// Copyright x\n\n//! The dock.\nuse x;\n",
        Some("The dock."),
    );
    check(
        "a.rs",
        "#![warn(\n    x,\n)]\n// Note.\n\n//! The dock.\n",
        Some("The dock."),
    );
    check("a.rs", "use x;\n//! Too late.\n", None);
    check(
        "a.py",
        "#!/usr/bin/env python\n\"\"\"Counts sheep.\"\"\"\n",
        Some("Counts sheep."),
    );
    check(
        "a.py",
        "r'''Counts\nsheep.\n\nMore.\n",
        Some("Counts sheep."),
    );
    check("a.py", "x = 1\n\"\"\"Too late.\"\"\"\n", None);
    check(
        "a.go",
        "// Package moon knows.\npackage moon\n",
        Some("Package moon knows."),
    );
    check(
        "a.c",
        "/*\n * Copyright (c) x\n */\n\n/* Reads\n * gauges. */\n",
        Some("Reads gauges."),
    );
    check(
        "a.ts",
        "/** Keeps carts. */\nexport {};\n",
        Some("Keeps carts."),
    );
    check(
        "a.sh",
        "#!/bin/sh\n# Sends parcels.\nset -e\n",
        Some("Sends parcels."),
    );
    check("a.json", "{}", None);
    check("a.py", "", None);
}

#[test]
fn paragraphs_about_rights_say_nothing_of_the_file() {
    let x11 = "/*\n * Copyright (C) 1994 X Consortium\n *\n * Permission is hereby granted, free of \
               charge, to any person.\n *\n * THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF \
               ANY KIND.\n *\n * Except as contained in this notice, the name of the X Consortium shall \
               not be used.\n */\n\n/* Draws lines. */\n";
    check("a.c", x11, Some("Draws lines."));
    let gcc = "/* Copyright (C) 2011 FSF.\n\n   This file is part of GCC.\n\n   Under Section 7 of GPL \
               version 3, you are granted additional permissions.\n\n   You should have received a copy \
               of it.  */\n";
    check("a.h", gcc, None);
    let gpl = "# Copyright x\n#\n# This program is free software; you can redistribute it.\n#\n\
               # Sends parcels.\n";
    check("a.sh", gpl, Some("Sends parcels."));
}
