"""PDFs for tests: pages of text, drawings without text."""

from __future__ import annotations

import io

import pypdf


def create_pdf(*pages: str) -> bytes:
    """Return a PDF with these pages. A page without words has a drawing."""
    bodies = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    bodies.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    bodies.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, text in enumerate(pages):
        lines = " ".join(f"({line}) Tj 0 -14 Td" for line in text.splitlines())
        drawn = f"BT /F1 11 Tf 50 800 Td {lines} ET" if text else "50 50 100 100 re S"
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        bodies.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    made, starts = b"%PDF-1.4\n", []
    for number, body in enumerate(bodies, 1):
        starts.append(len(made))
        made += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{start:010d} 00000 n \n" for start in starts)
    end = f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(bodies) + 1} /Root 1 0 R >>\n"
    return made + f"{end}startxref\n{len(made)}\n%%EOF\n".encode()


def lock_pdf(content: bytes, password: str) -> bytes:
    """Encrypt the PDF with a password."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(content))
    writer.encrypt(password, algorithm="RC4-128")
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def create_endless_pdf() -> bytes:
    """Return a PDF of one page with content that repeats itself tenfold on each level."""
    levels = 9
    bodies = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"]
    bodies.append(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>"
    )
    bodies.append("<< /Length 6 >>\nstream\n/X Do \nendstream")
    bodies.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for level in range(levels):
        last = level == levels - 1
        drawn = "BT /F1 9 Tf (word) Tj ET" if last else "/X Do " * 10
        inner = "" if last else f" /XObject << /X {7 + level} 0 R >>"
        bodies.append(
            f"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 5 0 R >>{inner} >>"
            f" /Length {len(drawn)} >>\nstream\n{drawn}\nendstream"
        )
    made = b"%PDF-1.4\n" + b"".join(f"{n} 0 obj\n{b}\nendobj\n".encode() for n, b in enumerate(bodies, 1))
    return made + f"trailer << /Size {len(bodies) + 1} /Root 1 0 R >>\n%%EOF\n".encode()
