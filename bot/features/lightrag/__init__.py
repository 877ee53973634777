"""LightRAG: an optional server that keeps earlier exchanges as a knowledge graph (docs/lightrag.md)."""
